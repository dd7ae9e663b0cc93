// The tasks that lanes run in worker threads: names, inputs and outputs. Everything here crosses a thread boundary, so it is
// plain data.

import type { UserId } from '../../engine/model/ids.ts';
import type { Validation } from '../../engine/ports/plugin-client.ts';
import type { FetchUploadInput, FetchUploadOutput } from './fetch-upload.ts';
import type { ImportDatasetInput, ImportDatasetOutput } from './import-dataset.ts';
import type {
  InstallDataInput,
  InstallFilesInput,
  InstallMetaInput,
  InstallOutput,
  UninstallInput,
  UninstallOutput,
} from './install-dataset.ts';
import type { PackUploadInput, PackUploadOutput } from './pack-upload.ts';

export type LaneTasks = {
  readonly 'fetch-upload': { readonly input: FetchUploadInput; readonly output: FetchUploadOutput };
  readonly 'pack-upload': { readonly input: PackUploadInput; readonly output: PackUploadOutput };
  readonly 'import-dataset': { readonly input: ImportDatasetInput; readonly output: ImportDatasetOutput };
  readonly 'install-data': { readonly input: InstallDataInput; readonly output: InstallOutput };
  readonly 'install-meta': { readonly input: InstallMetaInput; readonly output: InstallOutput };
  readonly 'install-files': { readonly input: InstallFilesInput; readonly output: InstallOutput };
  readonly 'uninstall-files': { readonly input: UninstallInput; readonly output: UninstallOutput };
  readonly uninstall: { readonly input: UninstallInput; readonly output: UninstallOutput };
};

export interface TaskRunOptions {
  readonly signal: AbortSignal;
  /** Run it in a thread that runs nothing else. */
  readonly alone: boolean;
  /** Owner of the dataset: where tasks queue, owners take turns. */
  readonly owner: UserId;
}

/** How a lane runs a task in a thread. An abort stops the task, gracefully first. */
export interface TaskRunner {
  run<Name extends keyof LaneTasks>(
    name: Name,
    input: LaneTasks[Name]['input'],
    options: TaskRunOptions,
  ): Promise<LaneTasks[Name]['output']>;
}

/** Both lists, for a status that has only one. */
export const allMessages = (validation: Validation): readonly string[] => [
  ...validation.basic,
  ...validation.community,
];
