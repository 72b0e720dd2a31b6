"""The tabs of the browse screen: each reads its rows off the event loop, draws them, and does what a person asks."""
