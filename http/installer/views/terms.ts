// Terms that several responses share, made from stored values.

import type { DataTypes } from '../../../engine/model/data-types.ts';
import type { DatasetMetadata, DatasetType } from '../../../engine/model/metadata.ts';
import type { Visibility } from '../../../engine/model/status.ts';
import type { DatasetTypeOutput } from '../schema/dataset-terms.ts';

/** A type that is no longer registered shows its name as category. */
export function typeView(type: DatasetType, dataTypes: DataTypes): DatasetTypeOutput {
  return { name: type.name, version: type.version, category: dataTypes.find(type)?.category ?? type.name };
}

/** `controlled` is protected with 0 days for approval (docs/contract/installer.md#shared-types). */
export function visibilityView(metadata: Pick<DatasetMetadata, 'visibility' | 'daysForApproval'>): Visibility {
  return metadata.visibility === 'protected' && metadata.daysForApproval === 0 ? 'controlled' : metadata.visibility;
}
