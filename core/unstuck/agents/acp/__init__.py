"""Agents that speak the Agent Client Protocol (https://agentclientprotocol.com) over their standard input and output.

One client for all of them: ``known`` has those with a name of their own, and what only one of them does. The protocol's
package is an optional extra and is imported only by ``conversation`` and ``wire``.
"""
