"""Results on an S3-compatible object store: its address, requests to it, publishing, fetching. No Dagster, no stages.

boto3 is imported where a request is made, so that nothing is loaded for it where results lie in a folder.
"""
