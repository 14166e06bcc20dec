"""The local durable queue: what a search leaves behind survives `kill -9` and any outage of the database.

One directory per user and target. In it, per writer (one process's stream of numbered records):

    <writer>.lock       held by flock for the writer's life, and mapped: its counters survive the process
    <writer>-<n>.seg    preallocated, mapped segments; n grows, gaps are allowed
    <writer>.rejected   records that can never land, kept for a person

A segment is a 64-byte header and frames of

    magic (4) | body length (4) | crc32 of number and body (4) | reserved (4) | number (8) | body, padded to 8

The magic is written last, so a record that was killed half-way is not one. Numbers are consecutive per writer.
The header's first number is 0 until records are written to the segment.
Liveness is the lock, never a pid: pids are reused and mean nothing across containers.
"""
