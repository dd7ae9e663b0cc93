// What an install target's copy of a dataset still needs, told from its control DB's state and the store's versions. Pure.

import type { ObjectVersion } from '../../engine/ports/catalog.ts';
import type { ControlState } from '../../engine/ports/install-target.ts';
import { sameVersion } from './dataset-versions.ts';

/**
 * The data have to be installed: never tried, cut off, told to, or installed from an older import. Final answers wait for
 * a person or, where a dependency is missing, for a full run.
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

/** The plugin gave a final answer about exactly this version of metadata and properties. */
export function metaIsCurrent(state: ControlState, version: ObjectVersion): boolean {
  const status = state.messages.meta?.status;
  const final = status === 'complete' || status === 'failed-validation' || status === 'failed-installation';
  return final && sameVersion(state.sync.meta, version);
}

/** The data lie there and are shown: metadata matter to the site. */
export const isInstalled = (state: ControlState): boolean =>
  state.deletedStatus === 0 && state.messages.data?.status === 'complete';

/** Nothing of the dataset lies there any more, or ever did. */
export const isUninstalled = (state: ControlState): boolean => !state.present || state.deletedStatus === 1;
