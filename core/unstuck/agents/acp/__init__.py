"""Client of agents that speak the Agent Client Protocol (https://agentclientprotocol.com) on standard input and output.

``acp_agents`` lists the agents with a name of their own and their quirks. The protocol's package is an optional extra,
and only ``conversation`` imports it.
"""
