"""Results in an S3-compatible object store: the address, requests, publishing and fetching.

boto3 is imported only when a request is made, so that results in a folder do not load it.
"""
