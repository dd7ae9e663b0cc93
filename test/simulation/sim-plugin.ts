// The plugin of a simulation: what it says about each dataset is settled beforehand, what it has installed is kept.
// A second installation over the first would double its rows, and so would one over what a script that failed after its
// first commit has left; metadata without data would have nowhere to go. Rows are one for all targets of a data schema, as
// primary keys would have it: they may neither be written twice nor be taken from a target that is shown as installed.

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
  /** By `{data schema}/{dataset}`: rows, all or some of them. */
  readonly rows = new Set<string>();
  /** The data schema of a target. */
  readonly #schemaOf: (target: TargetId) => string;
  /** Another target of the data schema says that the dataset is installed there. */
  readonly #isSharedWithOther: (dataset: DatasetId, target: TargetId) => boolean;
  /** Calls that took effect. */
  calls = 0;
  readonly #verdicts = new Map<DatasetId, Verdicts>();
  readonly #violate: (text: string) => void;

  constructor(
    violate: (text: string) => void,
    sites: {
      readonly schemaOf: (target: TargetId) => string;
      readonly isSharedWithOther: (dataset: DatasetId, target: TargetId) => boolean;
    },
  ) {
    this.#violate = violate;
    this.#schemaOf = sites.schemaOf;
    this.#isSharedWithOther = sites.isSharedWithOther;
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
    if (reply.kind !== 'missing-dependency') this.#writeRows(dataset, target);
    if (reply.kind === 'script-error' || reply.kind === 'invalid') this.left.add(place);
    if (reply.kind === 'success') this.installed.set(place, { ...installation, properties: [] });
    return reply;
  }

  /** The script is killed after its first commit. */
  beginInstall(dataset: DatasetId, target: TargetId): void {
    this.calls++;
    const place = `${target}/${dataset}`;
    if (this.installed.has(place) || this.left.has(place)) this.#violate(`${dataset} is installed twice on ${target}`);
    this.#writeRows(dataset, target);
    this.left.add(place);
  }

  /** The rows that another target has are this one's, too: they must be there. */
  installFiles(dataset: DatasetId, target: TargetId, source: TargetId, metadata: DatasetMetadata): InstallReply {
    this.calls++;
    const place = `${target}/${dataset}`;
    const shared = this.installed.get(`${source}/${dataset}`);
    if (this.installed.has(place)) this.#violate(`files of ${dataset} are installed twice on ${target}`);
    if (this.#schemaOf(source) !== this.#schemaOf(target)) this.#violate(`${source} and ${target} share nothing`);
    if (!shared || !this.rows.has(this.#rowsOf(dataset, target))) {
      this.#violate(`${dataset} is not on ${source}, which ${target} is to share it with`);
      return { kind: 'server-error', message: `${dataset} is not on ${source}` };
    }
    const verdict = this.#verdictOf(dataset).data.get(target);
    if (verdict?.kind === 'missing-dependency') return verdict;
    this.installed.set(place, { content: shared.content, metadata, properties: [] });
    return { kind: 'success', validation: validationOf([]) };
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
    if (this.#isSharedWithOther(dataset, target))
      this.#violate(`rows of ${dataset} are taken away with ${target} alone`);
    this.rows.delete(this.#rowsOf(dataset, target));
    return this.uninstallFiles(dataset, target);
  }

  uninstallFiles(dataset: DatasetId, target: TargetId): UninstallReply {
    this.calls++;
    this.installed.delete(`${target}/${dataset}`);
    this.left.delete(`${target}/${dataset}`);
    return { kind: 'success' };
  }

  #writeRows(dataset: DatasetId, target: TargetId): void {
    const rows = this.#rowsOf(dataset, target);
    if (this.rows.has(rows)) this.#violate(`rows of ${dataset} are written twice, now for ${target}`);
    this.rows.add(rows);
  }

  #rowsOf(dataset: DatasetId, target: TargetId): string {
    return `${this.#schemaOf(target)}/${dataset}`;
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
