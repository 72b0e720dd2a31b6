"""Check-up of everything a run needs: installed programs, attached agents, locations, and obstacles."""
