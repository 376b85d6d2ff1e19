"""What the thesis says: A. Stockmayer, VITO, Tübingen 2023, tables 3.1 to 3.3 and section 3.1.3.

Figures 3.2 and 3.4 are pictures there; of them only what the text reads off is known.
"""

# Of 100 MB at 50 Mbit/s, 100 ms each way: seconds, Mbit/s, mean window in segments, mean RTT in ms.
ORDER = {"netem-tbf": (19.7, 40.6, 821, 231), "tbf-netem": (19.3, 41.5, 2013, 427)}
SPLIT = {"netem-tbf": (19.1, 41.8, 834, 224), "tbf-netem": (18.9, 42.3, 845, 229)}
# Largest window, lowest and highest RTT, from the text.
RANGES = {"netem-tbf": (1050, 200, 250), "tbf-netem": (2300, 420, 520)}

# Seconds for 100 MB at 100 Mbit/s by the delay: without the auxiliary node, with it.
AUXILIARY = {"0ms": (8.68, 8.70), "1ms": (8.72, 8.73)}

# The smallest burst that fills a rate in Mbit/s, in MTUs of 1514 bytes: up to 10, 50, 100, above.
BURST = {10: 3, 50: 4, 100: 5, 200: 7}
