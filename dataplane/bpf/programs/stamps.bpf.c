/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* When a packet passes where: from the call that sends it, through a tunnel or none, until the driver has it.
 *
 * One thread is watched. What it sends, all devices that are not queued on do in its own call; so do these programs, and
 * one journey at a time is enough. A journey is told when the call is over.
 */
#include "base.h"

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di;
} __attribute__((preserve_access_index));
#define FIRST_ARGUMENT(registers) ((registers)->di)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	unsigned long orig_x0;
} __attribute__((preserve_access_index));
#define FIRST_ARGUMENT(registers) ((registers)->orig_x0)
#endif

const volatile struct traced traced;

/* The journey that is on its way, and the task whose it is. */
struct journey journey;
__u64 task;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} journeys SEC(".maps");

inline void stamp(__u64 passage)
{
	__u32 count = journey.count;

	if (bpf_get_current_task() != task)
		return;
	if (count < SIZE_STAMPS) {
		journey.stamps[count].passage = passage;
		journey.stamps[count].time = bpf_ktime_get_ns();
	}
	journey.count = count + 1;
}

SEC("tp_btf/sys_enter")
int call(__u64 *arguments)
{
	const struct pt_regs *registers = (const struct pt_regs *)arguments[0];
	struct bpf_pidns_info own = {};

	if (arguments[1] != traced.call)
		return 0;
	if (bpf_get_ns_current_pid_tgid(traced.device, traced.inode, &own, sizeof(own)) || own.pid != traced.thread)
		return 0;
	task = bpf_get_current_task();
	journey.socket = FIRST_ARGUMENT(registers);
	journey.count = 0;
	stamp(PASSAGE_SEND);
	return 0;
}

SEC("tp_btf/sys_exit")
int back(__u64 *arguments)
{
	if (bpf_get_current_task() != task)
		return 0;
	stamp(PASSAGE_BACK);
	task = 0;
	bpf_ringbuf_output(&journeys, &journey, sizeof(journey), BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("netfilter")
int out(void *context)
{
	stamp(PASSAGE_OUT);
	return 1; /* NF_ACCEPT */
}

SEC("tcx/egress")
int enter(struct __sk_buff *skb)
{
	stamp(PASSAGE_ENTER);
	return NEXT;
}

SEC("tp_btf/fib_table_lookup")
int lookup(__u64 *arguments)
{
	stamp(PASSAGE_LOOKUP);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int queue(__u64 *arguments)
{
	stamp(PASSAGE_QUEUE);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int start(__u64 *arguments)
{
	stamp(PASSAGE_START);
	return 0;
}

SEC("tp_btf/net_dev_xmit")
int sent(__u64 *arguments)
{
	stamp(PASSAGE_SENT);
	return 0;
}

/* The same once more: between a stamp and its second is nothing but what stamps cost themselves. */

SEC("tp_btf/sys_enter")
int call_again(__u64 *arguments)
{
	stamp(PASSAGE_SEND | PASSAGE_AGAIN);
	return 0;
}

SEC("netfilter")
int out_again(void *context)
{
	stamp(PASSAGE_OUT | PASSAGE_AGAIN);
	return 1;
}

SEC("tcx/egress")
int enter_again(struct __sk_buff *skb)
{
	stamp(PASSAGE_ENTER | PASSAGE_AGAIN);
	return NEXT;
}

SEC("tp_btf/net_dev_queue")
int queue_again(__u64 *arguments)
{
	stamp(PASSAGE_QUEUE | PASSAGE_AGAIN);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int start_again(__u64 *arguments)
{
	stamp(PASSAGE_START | PASSAGE_AGAIN);
	return 0;
}

SEC("tp_btf/net_dev_xmit")
int sent_again(__u64 *arguments)
{
	stamp(PASSAGE_SENT | PASSAGE_AGAIN);
	return 0;
}

/* Where packets end that were sent to be looked at. What finds neighbours passes. */
SEC("tcx/ingress")
int sink(struct __sk_buff *skb)
{
	return skb->protocol == bpf_htons(ETH_P_IP) ? DROPPED : NEXT;
}

char _license[] SEC("license") = "Dual MIT/GPL";
