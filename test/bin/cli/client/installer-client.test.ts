import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { InstallerClient } from '../../../../bin/cli/client/installer-client.ts';

const signal = new AbortController().signal;
const FOUR_GIB = 2 ** 32;

t.test('a file of 4 GiB is refused for a server without resumable uploads, before anything is sent', async (t) => {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const folder = t.testdir();
  const file = join(folder, 'reads.txt');
  // Sparse: it takes no room.
  await using handle = await open(file, 'w');
  await handle.truncate(FOUR_GIB);
  const { port } = server.address() as AddressInfo;
  const client = new InstallerClient({ server: `http://127.0.0.1:${port}`, token: 'token' });
  const source = { files: [file], stateDir: join(folder, 'state') };
  await t.rejects(client.upload({}, source, signal), {
    kind: 'rejected',
    message: `${file} has ${FOUR_GIB} bytes; a server without resumable uploads takes at most ${FOUR_GIB - 1} per file`,
  });
  t.strictSame(calls, ['POST /uploads']);
});
