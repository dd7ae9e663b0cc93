// What an install target's copy of a dataset still needs, derived from the control DB's state and the store's versions. Pure.

import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import { sameVersion } from './dataset-versions.ts';

/**
 * The data must be installed: never attempted, interrupted, ordered, or installed from an older import. A failure waits for a
 * person or, where a dependency is missing, for a full run.
 */
export function dataAreDue(state: ControlState, version: ObjectVersion): boolean {
  const status = state.messages.data?.status;
  switch (status) {
    case undefined:
    case 'queued':
    case 'running':
    case 'ready-for-reinstall':
      return true;
    case 'complete':
    case 'failed-validation':
      return !sameVersion(state.sync.data, version);
    case 'failed-installation':
    case 'missing-dependency':
      return false;
    default:
      return status satisfies never;
  }
}

/** The plugin gave a final result for exactly this version of metadata and properties. */
export function metaIsCurrent(state: ControlState, version: ObjectVersion): boolean {
  const status = state.messages.meta?.status;
  const final = status === 'complete' || status === 'failed-validation' || status === 'failed-installation';
  return final && sameVersion(state.sync.meta, version);
}

/** The data are installed and visible, so the site needs the metadata too. */
export const isInstalled = (state: ControlState): boolean =>
  state.deletedStatus === 0 && state.messages.data?.status === 'complete';

/** Nothing of the dataset is on the target any more, or ever was. */
export const isUninstalled = (state: ControlState): boolean => !state.present || state.deletedStatus === 1;
