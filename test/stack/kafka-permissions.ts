// What an account of a secure cluster may do; without rules it may do everything.

import kafkajs from 'kafkajs';
import type { KafkaCluster } from './kafka.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

interface Place {
  readonly username: string;
  readonly on: 'CLUSTER' | 'GROUP' | 'TOPIC';
  readonly name: string;
}

/** The name of the resource `CLUSTER`. */
export const THE_CLUSTER = 'kafka-cluster';

const rule = (
  { username, on, name }: Place,
  operation: keyof typeof AclOperationTypes,
  permission: keyof typeof AclPermissionTypes,
) => ({
  ...{ resourceType: AclResourceTypes[on], resourceName: name, resourcePatternType: ResourcePatternTypes.LITERAL },
  ...{ principal: `User:${username}`, host: '*' },
  ...{ operation: AclOperationTypes[operation], permissionType: AclPermissionTypes[permission] },
});

/** There it may do this and nothing else. */
export async function allow(
  cluster: KafkaCluster,
  { operations, ...place }: Place & { readonly operations: readonly ('READ' | 'WRITE')[] },
): Promise<void> {
  const acl = operations.map((operation) => rule(place, operation, 'ALLOW'));
  await (await cluster.admin()).createAcls({ acl });
}

/** There it may do all but this, until the returned function is called. */
export async function forbid(
  cluster: KafkaCluster,
  { operation, ...place }: Place & { readonly operation: 'CREATE' | 'READ' },
): Promise<() => Promise<unknown>> {
  // What has rules allows only what they name.
  const acl = [rule(place, 'ALL', 'ALLOW'), rule(place, operation, 'DENY')];
  const admin = await cluster.admin();
  await admin.createAcls({ acl });
  return () => admin.deleteAcls({ filters: acl });
}
