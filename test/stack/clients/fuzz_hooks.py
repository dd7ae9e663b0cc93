"""What Schemathesis has to know to send bodies of our documents."""

import schemathesis


@schemathesis.serializer("application/offset+octet-stream")
def pieces_of_uploads(_context, value):
    return value if isinstance(value, bytes) else str(value).encode()
