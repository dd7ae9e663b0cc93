// Entry of the worker threads. A thread opens its own reader of the object store and its own plugin clients, once. They end with
// the thread, sockets included. Only plain data comes in and goes out.

import { archivesHere } from '../../actors/tasks/archives.ts';
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
import type { TaskContext } from '../../actors/tasks/task-map.ts';
import { PluginHttp } from '../../engine/adapters/plugins/plugin-http.ts';
import { RemoteHttp } from '../../engine/adapters/remote/remote-http.ts';
import { serveTasks } from '../../engine/threads/thread.ts';
import { openStoreReader } from './store-reader.ts';
import type { ThreadData, ThreadTasks } from './worker-threads.ts';

type Resources = Omit<TaskContext, 'signal'>;

async function open(data: ThreadData): Promise<Resources> {
  const plugins = new Map(data.plugins.map((plugin) => [plugin.key, new PluginHttp(plugin)] as const));
  const remote = data.remote && new RemoteHttp(data.remote);
  return { store: await openStoreReader(data.store), plugins, remote };
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
  unpack: (order, _resources, signal) => archivesHere.unpack(order, signal),
  zip: ({ target, files, ...options }, _resources, signal) => archivesHere.zip(target, files, options, signal),
  'tar-gz': ({ target, files }, _resources, signal) => archivesHere.tarGz(target, files, signal),
  sha256: ({ file }, _resources, signal) => archivesHere.sha256(file, signal),
});
