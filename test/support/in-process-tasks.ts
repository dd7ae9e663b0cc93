// Runs the lanes' tasks in this process instead of in threads. Inputs and outputs are cloned as on their way to a
// thread and back, so that only plain data get through.

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
import type { LaneTasks, TaskContext, TaskRunner } from '../../actors/tasks/task-map.ts';

type Task<Name extends keyof LaneTasks> = (
  input: LaneTasks[Name]['input'],
  context: TaskContext,
) => Promise<LaneTasks[Name]['output']>;

const TASKS: { readonly [Name in keyof LaneTasks]: Task<Name> } = {
  'fetch-upload': fetchUpload,
  'pack-upload': packUpload,
  'import-dataset': importDataset,
  'install-data': installData,
  'install-meta': installMeta,
  'install-files': installFiles,
  'uninstall-files': uninstallFiles,
  uninstall,
};

export class InProcessTasks implements TaskRunner {
  readonly #context: Omit<TaskContext, 'signal'>;

  constructor(context: Omit<TaskContext, 'signal'>) {
    this.#context = context;
  }

  async run<Name extends keyof LaneTasks>(
    name: Name,
    input: LaneTasks[Name]['input'],
    { signal }: { readonly signal: AbortSignal; readonly alone: boolean },
  ): Promise<LaneTasks[Name]['output']> {
    signal.throwIfAborted();
    const task: Task<Name> = TASKS[name];
    return structuredClone(await task(structuredClone(input), { ...this.#context, signal }));
  }
}
