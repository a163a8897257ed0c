"""One module a target, each two pure functions: raw response to calls, results to what is sent back.

They take the SDK's objects and plain dicts alike and import no SDK. Services with a loop of their own use these alone.
"""
