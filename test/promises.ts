// What the product promises, and the tests that hold each promise. README.md shows all rows as tables, and
// promises.test.ts compares both. What the contract says is not here: contract/tables.ts has it.

import { BOUNDS } from './promises/bounds.ts';
import { CALLERS } from './promises/callers.ts';
import { COMMANDS } from './promises/commands.ts';
import { CONTAINMENT } from './promises/containment.ts';
import { DURABILITY } from './promises/durability.ts';
import { EFFECTS } from './promises/effects.ts';
import { EXISTING_CLIENTS } from './promises/existing-clients.ts';
import { EXISTING_PLUGINS } from './promises/existing-plugins.ts';
import { EXISTING_SITES } from './promises/existing-sites.ts';
import { FILES } from './promises/files.ts';
import { INPUT } from './promises/input.ts';
import { OBSERVATION } from './promises/observation.ts';
import { OUTAGES } from './promises/outages.ts';
import { REMOVAL } from './promises/removal.ts';
import { SCRIPTS } from './promises/scripts.ts';
import { SECRETS } from './promises/secrets.ts';
import { SHUTDOWN } from './promises/shutdown.ts';
import { UPKEEP } from './promises/upkeep.ts';
import { VISIBILITY } from './promises/visibility.ts';
import { WIRE } from './promises/wire.ts';
import type { HoldingTest } from './support/holding-tests.ts';

export type { HoldingTest };

/** A row is added when the product keeps the promise, not before. */
export interface PromiseRow {
  /** Unique over all kinds. Stays when the sentence changes. */
  readonly id: string;
  /** One sentence of at most 25 words. */
  readonly promise: string;
  readonly heldBy: readonly HoldingTest[];
}

/** By kind and by what they are about. */
export const PROMISES = {
  reliability: {
    'Nothing that was accepted is lost': DURABILITY,
    'Real files are installed right, or refused in words': FILES,
    'Nothing is done twice with effect': EFFECTS,
    'One bad thing stays one bad thing': CONTAINMENT,
    'Dependencies may go away': OUTAGES,
    'Overload is refused, not absorbed': BOUNDS,
    'Shutdown is orderly': SHUTDOWN,
    'Data are removed only when that is meant': REMOVAL,
  },
  security: {
    'Who calls': CALLERS,
    'Who sees and decides': VISIBILITY,
    'What strangers send': INPUT,
    'Scripts and commands': SCRIPTS,
    Secrets: SECRETS,
    'On the wire': WIRE,
  },
  operation: {
    'Commands and configuration': COMMANDS,
    'Seeing what goes on': OBSERVATION,
    Upkeep: UPKEEP,
  },
  compatibility: {
    'What deployed front ends need': EXISTING_CLIENTS,
    'What existing plugins need': EXISTING_PLUGINS,
    'What sites and their operators need': EXISTING_SITES,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly PromiseRow[]>>>>;
export type PromiseKind = keyof typeof PROMISES;
export const KINDS = Object.keys(PROMISES) as PromiseKind[];

export const rowsOf = (kind: PromiseKind): readonly PromiseRow[] => Object.values(PROMISES[kind]).flat();
