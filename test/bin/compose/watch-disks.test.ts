import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { diskWatch, writtenFolders } from '../../../bin/compose/watch-disks.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

t.test('tells size and free space of the disk of each folder, also of one that is not made yet', async (t) => {
  const folders = [t.testdir(), join(t.testdirName, 'made', 'later')].map((folder) => ({ role: 'the place', folder }));
  const metrics = new Metrics();
  const clock = new VirtualClock();
  const watch = diskWatch(folders, { clock, log: silentLogger(), metrics }).create();
  t.teardown(() => watch.kill());
  await watch.start(new AbortController().signal);
  // Done when it has left its timestamp.
  let text = await metrics.text();
  while (!text.includes('longshore_daemon_last_run_timestamp_seconds{')) {
    await clock.settle();
    text = await metrics.text();
  }
  const { blocks, bsize } = await statfs(t.testdirName);
  for (const { folder } of folders) {
    t.match(text, `longshore_disk_size_bytes{folder="${folder}"} ${blocks * bsize}\n`);
    const [, free] = text.split(`longshore_disk_free_bytes{folder="${folder}"} `);
    const freeBytes = Number.parseInt(free ?? '', 10);
    t.ok(freeBytes > 0 && freeBytes < blocks * bsize, `${freeBytes} of ${blocks * bsize} bytes`);
  }
});

t.test('names what a process writes to, each folder once', async (t) => {
  const sections = {
    installer: {
      objectStore: { driver: 'directory', path: '/data/objects' },
      plugins: { genes: { installRoot: '/sites' }, biom: { installRoot: '/sites' }, other: { installRoot: '/other' } },
    },
    handler: { workspace: '/data/handler' },
    pluginHost: { workspace: '/data/plugins', inProcess: ['genes', 'biom'] },
  } as unknown as Configuration;
  const store = [
    { role: 'the scratch space', folder: '/scratch' },
    { role: 'the object store', folder: '/data/objects' },
    { role: 'the handler jobs', folder: '/data/handler' },
  ];
  t.strictSame(writtenFolders(sections, ['genes', 'biom'], '/scratch'), [
    ...store,
    { role: 'the plugin host', folder: '/data/plugins' },
    { role: 'the installed files', folder: '/sites' },
  ]);
  t.strictSame(writtenFolders(sections, [], '/scratch'), store);
});
