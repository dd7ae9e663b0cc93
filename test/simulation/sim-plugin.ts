// The plugin of a simulation: what it says about each dataset is settled beforehand, what it has installed is kept.
// A second installation over the first would double its rows, and so would one over what a script that failed after its
// first commit has left; metadata without data would have nowhere to go.

import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { InstallReply, PluginFailure, UninstallReply, Validation } from '../../engine/ports/plugin-client.ts';

export type Verdict =
  | { readonly kind: 'success'; readonly warnings: readonly string[] }
  | { readonly kind: 'invalid'; readonly messages: readonly string[] }
  | { readonly kind: 'missing-dependency'; readonly messages: readonly string[] }
  | { readonly kind: 'script-error'; readonly message: string }
  /** Kills the thread that runs it, every time; imports only. */
  | { readonly kind: 'poison' };

export interface Verdicts {
  readonly import: Verdict;
  readonly data: ReadonlyMap<TargetId, Verdict>;
  readonly meta: ReadonlyMap<TargetId, Verdict>;
}

export interface Installation {
  /** The payload. */
  readonly content: string;
  readonly metadata: DatasetMetadata;
  /** `name=content` of each property file. */
  readonly properties: readonly string[];
}

type ImportVerdict = { readonly kind: 'success'; readonly validation: Validation } | ImportRefusal;
type ImportRefusal = { readonly kind: 'invalid'; readonly validation: Validation } | PluginFailure;

const validationOf = (basic: readonly string[]): Validation => ({ basic, community: [] });

export class SimPlugin {
  /** By `{target}/{dataset}`. */
  readonly installed = new Map<string, Installation>();
  /** What failed installs left, by `{target}/{dataset}`: only an uninstall takes it away. */
  readonly left = new Set<string>();
  /** Calls that took effect. */
  calls = 0;
  readonly #verdicts = new Map<DatasetId, Verdicts>();
  readonly #violate: (text: string) => void;

  constructor(violate: (text: string) => void) {
    this.#violate = violate;
  }

  settle(dataset: DatasetId, verdicts: Verdicts): void {
    this.#verdicts.set(dataset, verdicts);
  }

  isPoison(dataset: DatasetId): boolean {
    return this.#verdicts.get(dataset)?.import.kind === 'poison';
  }

  import(dataset: DatasetId): ImportVerdict {
    this.calls++;
    const verdict = this.#verdictOf(dataset).import;
    switch (verdict.kind) {
      case 'success':
        return { kind: 'success', validation: validationOf(verdict.warnings) };
      case 'invalid':
        return { kind: 'invalid', validation: validationOf(verdict.messages) };
      case 'script-error':
        return verdict;
      default:
        throw new Error(`an import cannot end with ${verdict.kind}`);
    }
  }

  installData(dataset: DatasetId, target: TargetId, installation: Installation): InstallReply {
    this.calls++;
    const place = `${target}/${dataset}`;
    if (this.installed.has(place)) this.#violate(`${dataset} is installed twice on ${target}`);
    if (this.left.has(place)) this.#violate(`${dataset} is installed on ${target} over what a failed install left`);
    const reply = replyOf(this.#verdictOf(dataset).data.get(target));
    // Dependencies are checked before the script begins.
    if (reply.kind === 'script-error' || reply.kind === 'invalid') this.left.add(place);
    if (reply.kind === 'success') this.installed.set(place, { ...installation, properties: [] });
    return reply;
  }

  /** The script is killed after its first commit. */
  beginInstall(dataset: DatasetId, target: TargetId): void {
    this.calls++;
    const place = `${target}/${dataset}`;
    if (this.installed.has(place) || this.left.has(place)) this.#violate(`${dataset} is installed twice on ${target}`);
    this.left.add(place);
  }

  installMeta(dataset: DatasetId, target: TargetId, update: Omit<Installation, 'content'>): InstallReply {
    this.calls++;
    const place = `${target}/${dataset}`;
    const known = this.installed.get(place);
    if (!known) this.#violate(`metadata of ${dataset} are installed on ${target}, where its data are not`);
    const reply = replyOf(this.#verdictOf(dataset).meta.get(target));
    if (reply.kind === 'success' && known) this.installed.set(place, { ...known, ...update });
    return reply;
  }

  uninstall(dataset: DatasetId, target: TargetId): UninstallReply {
    this.calls++;
    this.installed.delete(`${target}/${dataset}`);
    this.left.delete(`${target}/${dataset}`);
    return { kind: 'success' };
  }

  #verdictOf(dataset: DatasetId): Verdicts {
    const verdicts = this.#verdicts.get(dataset);
    if (!verdicts) throw new Error(`the plugin was called about ${dataset}, which nobody uploaded`);
    return verdicts;
  }
}

function replyOf(verdict: Verdict | undefined): InstallReply {
  switch (verdict?.kind) {
    case 'success':
      return { kind: 'success', validation: validationOf(verdict.warnings) };
    case 'invalid':
      return { kind: 'invalid', validation: validationOf(verdict.messages) };
    case 'missing-dependency':
    case 'script-error':
      return verdict;
    default:
      throw new Error(`an install cannot end with ${verdict?.kind}`);
  }
}
