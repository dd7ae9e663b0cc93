// What is changed, one change at a time. A mutator looks at one node and tells the changes it has for it.

import type { Node } from 'oxc-parser';
import { CONSTANT_MUTATORS } from './constant-mutators.ts';
import { FLOW_MUTATORS } from './flow-mutators.ts';
import { OPERATOR_MUTATORS } from './operator-mutators.ts';
import type { Place } from './syntax.ts';

/** `start` to `end` of the source becomes `after`. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly after: string;
  /** Runs exactly when what is changed runs. Default: the start of the node. */
  readonly runsAt?: number;
}

export type Mutator = (node: Node, place: Place) => readonly Change[];

/** By the kind of change, as reports and the list of equivalents name it. */
export const MUTATORS: Readonly<Record<string, Mutator>> = {
  ...OPERATOR_MUTATORS,
  ...CONSTANT_MUTATORS,
  ...FLOW_MUTATORS,
};
