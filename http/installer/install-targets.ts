// The configured install targets, as far as the API needs them.

import type { TargetId } from '../../engine/model/ids.ts';

const PROJECT_CATEGORIES = ['genomics', 'vector', 'microbiome', 'clinical-epidemiology', 'other'] as const;
/** Decides which metadata fields a target requires (docs/contract/installer.md#conditional-requirements). */
export type ProjectCategory = (typeof PROJECT_CATEGORIES)[number];

export interface InstallTargetSettings {
  readonly id: TargetId;
  /** Display name. */
  readonly name: string;
  readonly enabled: boolean;
  readonly category: ProjectCategory;
  /** JSON Schema that the stored metadata document must satisfy too. */
  readonly metaValidation?: object;
}

export class InstallTargets {
  readonly #byId: ReadonlyMap<string, InstallTargetSettings>;

  constructor(targets: readonly InstallTargetSettings[]) {
    this.#byId = new Map(targets.map((target) => [target.id, target]));
  }

  /** Disabled ones too. */
  find(id: string): InstallTargetSettings | undefined {
    return this.#byId.get(id);
  }

  all(): readonly InstallTargetSettings[] {
    return [...this.#byId.values()];
  }

  enabled(): readonly InstallTargetSettings[] {
    return this.all().filter((target) => target.enabled);
  }

  /** The ids that a client can name, for messages. */
  enabledIds(): string {
    return this.enabled()
      .map((target) => target.id)
      .join(', ');
  }
}
