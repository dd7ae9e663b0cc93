// Entry point of the worker threads. A thread opens its own object store reader and its own plugin clients, once. Its inputs
// and outputs are plain data.

import { fetchUpload } from '../../actors/tasks/fetch-upload.ts';
import { importDataset } from '../../actors/tasks/import-dataset.ts';
import {
  installData,
  installFiles,
  installMeta,
  uninstall,
  uninstallFiles,
} from '../../actors/tasks/install-dataset.ts';
import { packUpload } from '../../actors/tasks/pack-upload.ts';
import type { TaskContext } from '../../actors/tasks/task-context.ts';
import { PluginHttp } from '../../engine/adapters/plugins/plugin-http.ts';
import { RemoteHttp } from '../../engine/adapters/remote/remote-http.ts';
import { copyPieces, writeRecords } from '../../engine/archive/zip-pieces.ts';
import { serveTasks } from '../../engine/threads/thread.ts';
import { packagesHere } from '../../http/handler/packages.ts';
import { archivesHere } from '../../http/plugin-host/archives.ts';
import { openStoreReader } from './store-reader.ts';
import type { ThreadData, ThreadTasks } from './thread-data.ts';

type Resources = Omit<TaskContext, 'signal'> & AsyncDisposable;

async function open(data: ThreadData): Promise<Resources> {
  const plugins = new Map(data.plugins.map((plugin) => [plugin.key, new PluginHttp(plugin)] as const));
  const remote = data.remote && new RemoteHttp(data.remote);
  const store = await openStoreReader(data.store);
  return {
    store,
    plugins,
    remote,
    async [Symbol.asyncDispose]() {
      await Promise.all([...plugins.values()].map((client) => client[Symbol.asyncDispose]()));
      await remote?.[Symbol.asyncDispose]();
      store[Symbol.dispose]?.();
    },
  };
}

export default serveTasks<ThreadTasks, ThreadData, Resources>(open, {
  'fetch-upload': (input, resources, signal) => fetchUpload(input, { ...resources, signal }),
  'pack-upload': (input, resources, signal) => packUpload(input, { ...resources, signal }),
  'import-dataset': (input, resources, signal) => importDataset(input, { ...resources, signal }),
  'install-data': (input, resources, signal) => installData(input, { ...resources, signal }),
  'install-meta': (input, resources, signal) => installMeta(input, { ...resources, signal }),
  'install-files': (input, resources, signal) => installFiles(input, { ...resources, signal }),
  'uninstall-files': (input, resources, signal) => uninstallFiles(input, { ...resources, signal }),
  uninstall: (input, resources, signal) => uninstall(input, { ...resources, signal }),
  unpack: ({ zip, dir, limits }, _resources, signal) => archivesHere.unpack(zip, dir, limits, signal),
  zip: ({ target, files, level }, _resources, signal) => archivesHere.zip(target, files, { level }, signal),
  'zip-copy': async (order) => copyPieces(order),
  'zip-records': async (order) => writeRecords(order),
  'unpack-package': (order, _resources, signal) => packagesHere.unpack(order, signal),
  'pack-package': (order, _resources, signal) => packagesHere.pack(order, signal),
});
