"""Stores: state that outlives any one run and is shared by many.

What is here so far is the pure core: where something is in a state, what an updater changed, what a selector read, and
whether the one touches the other.
"""
