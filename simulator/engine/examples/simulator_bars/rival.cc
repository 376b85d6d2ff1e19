// The same network in ns-3: read as `rival.rs` writes it, run, and what became of each flow written back.
//
// Whatever ns-3 can do without is left out, so that it is at its fastest: no tracing, no traffic control above the
// devices, no IPv6, no checksums, no ARP, and instead of its global routing, whose table is searched from end to end for
// every packet, one array of next hops by destination. Among several it takes the one that Plait's switches take
// (simulator/engine/src/hash.rs), so that both worlds carry the same packets over the same links. Of its schedulers the
// usual one is the fastest here.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <ctime>
#include <iostream>

using namespace ns3;

namespace {

uint64_t Mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint32_t FlowHash(Ipv4Address source, Ipv4Address destination, uint8_t protocol, uint32_t ports) {
    const uint64_t mapped = 0xffffULL << 32;
    uint64_t words[] = {0, mapped | source.Get(), 0, mapped | destination.Get(), uint64_t{protocol} << 32 | ports};
    uint64_t state = 0;
    for (uint64_t word : words) {
        state = Mix(state ^ word);
    }
    return static_cast<uint32_t>(state ^ state >> 32);
}

// Next hops by destination, of which a flow's hash picks one.
class Ways : public Ipv4RoutingProtocol {
  public:
    Ways(Ipv4Address own, uint64_t seed, uint32_t first, size_t nodes)
        : m_own(own), m_seed(seed), m_first(first), m_ways(nodes) {}

    void Add(uint32_t to, Ptr<NetDevice> device) {
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetSource(m_own);
        route->SetDestination(Ipv4Address(m_first + to));
        // It must have a gateway, which on a link between two is whoever is there.
        route->SetGateway(Ipv4Address(m_first + to));
        route->SetOutputDevice(device);
        m_ways[to].push_back(route);
    }

    // Only hosts send, and they have one way.
    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>, Socket::SocketErrno& fault) override {
        fault = Socket::ERROR_NOTERROR;
        return m_ways[header.GetDestination().Get() - m_first].front();
    }

    bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>, UnicastForwardCallback on,
                    MulticastForwardCallback, LocalDeliverCallback up, ErrorCallback) override {
        Ipv4Address to = header.GetDestination();
        if (to == m_own) {
            up(packet, header, 1);
            return true;
        }
        const auto& ways = m_ways[to.Get() - m_first];
        size_t way = 0;
        if (ways.size() > 1) {
            uint8_t ports[4];
            packet->CopyData(ports, sizeof ports);
            uint32_t both = uint32_t{ports[0]} << 24 | ports[1] << 16 | ports[2] << 8 | ports[3];
            uint64_t hash = FlowHash(header.GetSource(), to, header.GetProtocol(), both);
            way = static_cast<size_t>((static_cast<unsigned __int128>(Mix(hash ^ m_seed)) * ways.size()) >> 64);
        }
        on(ways[way], packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override {}
    void NotifyInterfaceDown(uint32_t) override {}
    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
    void SetIpv4(Ptr<Ipv4>) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ipv4Address m_own;
    uint64_t m_seed;
    uint32_t m_first;
    std::vector<std::vector<Ptr<Ipv4Route>>> m_ways;
};

// Datagrams at an even gap, and what came of them.
struct Flow {
    Ptr<Socket> source, sink;
    Time gap;
    uint32_t left, payload;
    uint64_t received = 0;
    int64_t last = 0;

    void Send() {
        source->Send(Create<Packet>(payload));
        if (--left > 0) {
            Simulator::Schedule(gap, &Flow::Send, this);
        }
    }

    void Receive(Ptr<Socket> socket) {
        while (socket->Recv()) {
            ++received;
            last = Simulator::Now().GetNanoSeconds();
        }
    }
};

// Bytes of UDP, IP and PPP around a payload: a link carries frames of the same size as Plait's.
const uint32_t HEADERS = 8 + 20 + 2;

} // namespace

int main() {
    uint32_t first, count, links, routes, many;
    std::cin >> first >> count;
    NodeContainer nodes(count);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);
    std::vector<Ptr<Ways>> ways;
    for (uint32_t node = 0; node < count; ++node) {
        uint64_t seed;
        std::cin >> seed;
        ways.push_back(Create<Ways>(Ipv4Address(first + node), seed, first, count));
        nodes.Get(node)->GetObject<Ipv4>()->SetRoutingProtocol(ways[node]);
    }
    std::cin >> links;
    std::vector<NetDeviceContainer> devices;
    std::vector<std::array<uint32_t, 2>> ends;
    PointToPointHelper wire;
    wire.DisableFlowControl();
    for (uint32_t link = 0; link < links; ++link) {
        uint64_t rate, delay, queue;
        std::array<uint32_t, 2> end;
        std::cin >> end[0] >> end[1] >> rate >> delay >> queue;
        wire.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
        wire.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
        wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(PACKETS, queue)));
        devices.push_back(wire.Install(nodes.Get(end[0]), nodes.Get(end[1])));
        ends.push_back(end);
        for (int side : {0, 1}) {
            Ptr<Ipv4> ipv4 = nodes.Get(end[side])->GetObject<Ipv4>();
            uint32_t interface = ipv4->AddInterface(devices[link].Get(side));
            ipv4->AddAddress(interface, Ipv4InterfaceAddress(Ipv4Address(first + end[side]), Ipv4Mask::GetOnes()));
            ipv4->SetUp(interface);
        }
    }
    std::cin >> routes;
    for (uint32_t route = 0; route < routes; ++route) {
        uint32_t node, to, several, link;
        std::cin >> node >> to >> several;
        while (several-- > 0) {
            std::cin >> link;
            ways[node]->Add(to, devices[link].Get(ends[link][0] == node ? 0 : 1));
        }
    }
    std::cin >> many;
    std::vector<Flow> flows(many);
    for (Flow& flow : flows) {
        uint32_t from, to, frame;
        uint16_t ports[2];
        uint64_t start, gap;
        std::cin >> from >> to >> ports[0] >> ports[1] >> start >> gap >> flow.left >> frame;
        flow.gap = NanoSeconds(gap);
        flow.payload = frame - HEADERS;
        flow.sink = Socket::CreateSocket(nodes.Get(to), UdpSocketFactory::GetTypeId());
        flow.sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), ports[1]));
        flow.sink->SetRecvCallback(MakeCallback(&Flow::Receive, &flow));
        flow.source = Socket::CreateSocket(nodes.Get(from), UdpSocketFactory::GetTypeId());
        flow.source->Bind(InetSocketAddress(Ipv4Address::GetAny(), ports[0]));
        flow.source->Connect(InetSocketAddress(Ipv4Address(first + to), ports[1]));
        Simulator::ScheduleWithContext(from, NanoSeconds(start), &Flow::Send, &flow);
    }
    if (!std::cin) {
        std::cerr << "the network cannot be read\n";
        return 1;
    }
    std::clock_t begin = std::clock();
    Simulator::Run();
    std::cout << static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC << ' ' << Simulator::GetEventCount() << '\n';
    for (const Flow& flow : flows) {
        std::cout << flow.received << ' ' << flow.last << '\n';
    }
    return 0;
}
