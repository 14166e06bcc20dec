"""One page of the four dashboards for people without a Grafana: the same panels, drawn here, in one file without a network.

`snapshot.py` reads, everything else turns values into markup: fixed data and a fixed clock give the same bytes.
"""
