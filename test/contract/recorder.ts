// Holds every answer of one service of the running program against the OpenAPI document that it serves: an operation that
// is there, a documented code, its content type, a body that its schema describes whole. What was seen is kept for
// check.ts.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { fetch } from 'undici';
import { JSON_TYPE } from '../../http/kernel/answers/json-text.ts';
import type { OpenApiDocument } from '../../http/kernel/openapi/openapi.ts';
import { closed } from '../http/installer/response-check.ts';
import type { Answer } from './client.ts';
import { type Example, Examples } from './examples.ts';
import type { Service } from './tables.ts';

/** check.ts names the folder. */
const FOLDER = process.env.LONGSHORE_CONTRACT_SEEN;

export interface Seen {
  readonly service: Service;
  /** Of every operation, `operationId code` of its codes below 400. */
  readonly documented: readonly string[];
  readonly seen: readonly string[];
  /** By operation. */
  readonly examples: Readonly<Record<string, Example>>;
}

interface DocumentedAnswer {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface DocumentedOperation {
  readonly id: string;
  readonly method: string;
  readonly path: RegExp;
  /** Parameters in the path; of two that match, the one with fewer is meant. */
  readonly parameters: number;
  readonly answers: Readonly<Record<string, DocumentedAnswer>>;
  readonly body: DocumentedAnswer | undefined;
}

export class Recorder {
  readonly #service: Service;
  readonly document: OpenApiDocument;
  readonly #operations: readonly DocumentedOperation[];
  readonly #components: unknown;
  readonly #seen = new Set<string>();
  readonly #examples = new Examples();
  readonly #checks = new Map<object, ValidateFunction>();
  readonly #ajv = new Ajv2020({ allErrors: true, strict: false, formats: { int64: true } });

  static async of(service: Service, url: string): Promise<Recorder> {
    return new Recorder(service, (await (await fetch(`${url}/api/openapi.json`)).json()) as OpenApiDocument);
  }

  constructor(service: Service, document: OpenApiDocument) {
    this.#service = service;
    this.document = document;
    this.#components = closed(document.components);
    // The package's default export is typed as a namespace under nodenext.
    (formats as unknown as (ajv: Ajv2020) => void)(this.#ajv);
    this.#operations = Object.entries(document.paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          id: operation.operationId,
          method: method.toUpperCase(),
          path: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
          parameters: path.split('{').length - 1,
          answers: operation.responses as DocumentedOperation['answers'],
          body: operation.requestBody as DocumentedAnswer | undefined,
        })),
      )
      .sort((a, b) => a.parameters - b.parameters);
  }

  /** Throws when the answer is not as documented. */
  check(method: string, target: string, answer: Answer, request?: unknown): void {
    const path = target.replace(/\?.*$/s, '');
    const operation = this.#operations.find((one) => one.method === method && one.path.test(path));
    const where = `${method} ${target} ${answer.status}`;
    // Nothing is documented where nothing is: the error body of the contract is owed all the same.
    if (!operation) {
      this.#checkBody(where, this.#problem(), answer);
      return;
    }
    const documented = operation.answers[String(answer.status)];
    if (!documented) throw new Error(`${where}: ${operation.id} does not document this code: ${answer.text}`);
    this.#seen.add(`${operation.id} ${answer.status}`);
    const [[type, media] = []] = Object.entries(documented.content ?? {});
    if (type === undefined || media === undefined) {
      if (answer.bytes.length > 0) throw new Error(`${where}: has a body, and none is documented`);
      return;
    }
    const given = answer.headers.get('content-type');
    // Any type there, where files of all kinds are served. Deployed clients compare that of JSON as it stands.
    const matches = type === JSON_TYPE ? given === type : type === '*/*' || given?.replace(/;.*$/, '') === type;
    if (!matches) throw new Error(`${where}: content type ${given}; documented is ${type}`);
    if (type === JSON_TYPE) {
      this.#checkBody(where, media.schema, answer);
      if (answer.status < 300) this.#examples.see(operation.id, this.#example(operation, answer.body, request));
    }
  }

  /** Leaves out a request with more than is documented: tests send such. */
  #example({ body }: DocumentedOperation, response: unknown, request: unknown): Example {
    const schema = body?.content?.[JSON_TYPE]?.schema;
    return schema && this.#compiled(schema)(request) ? { response, request } : { response };
  }

  #compiled(schema: object): ValidateFunction {
    let validate = this.#checks.get(schema);
    if (!validate) {
      // References of the schema lead to its components.
      validate = this.#ajv.compile({ ...(closed(schema) as object), components: this.#components });
      this.#checks.set(schema, validate);
    }
    return validate;
  }

  #checkBody(where: string, schema: object, answer: Answer): void {
    const validate = this.#compiled(schema);
    if (validate(answer.body)) return;
    const faults = validate.errors?.map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    );
    throw new Error(`${where}: not as documented: ${faults?.join('; ')}; ${answer.text.slice(0, 2_000)}`);
  }

  #problem(): object {
    const known = this.#operations.flatMap(({ answers }) => answers['401']?.content?.[JSON_TYPE] ?? []);
    if (!known[0]) throw new Error('the document describes no error body');
    return known[0].schema;
  }

  /** Whether the operation documents the code. */
  documents(method: string, path: string, code: number): boolean {
    return this.#operations.some(
      (one) => one.method === method && one.path.test(path) && one.answers[String(code)] !== undefined,
    );
  }

  /** For check.ts, when it asks. */
  async save(): Promise<void> {
    if (FOLDER === undefined) return;
    const documented = this.#operations.flatMap(({ id, answers }) =>
      Object.keys(answers)
        .filter((code) => Number(code) < 400)
        .map((code) => `${id} ${code}`),
    );
    await mkdir(FOLDER, { recursive: true });
    const kept: Seen = { service: this.#service, documented, seen: [...this.#seen], examples: this.#examples.all };
    await writeFile(join(FOLDER, `${process.pid}-${this.#service}.json`), JSON.stringify(kept));
  }
}
