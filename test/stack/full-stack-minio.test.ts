// MinIO over TLS, in a bucket that keeps old versions.

import t from 'tap';
import { fullStack } from './full-stack.ts';
import { installationOn } from './installation.ts';
import { onMinio } from './minio-changes.ts';

await fullStack(t, await installationOn(t, onMinio({ tls: true, versioned: true })));
