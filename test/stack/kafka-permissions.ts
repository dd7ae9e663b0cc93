// What an account of a secure cluster may not do.

import kafkajs from 'kafkajs';
import type { KafkaCluster } from './kafka.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

export interface Forbidden {
  readonly username: string;
  readonly operation: 'CREATE' | 'READ';
  readonly on: 'CLUSTER' | 'GROUP' | 'TOPIC';
  readonly name: string;
}

/** There it may do all but this, until the returned function is called. */
export async function forbid(cluster: KafkaCluster, { username, operation, on, name }: Forbidden) {
  const rule = {
    ...{ resourceType: AclResourceTypes[on], resourceName: name, resourcePatternType: ResourcePatternTypes.LITERAL },
    ...{ principal: `User:${username}`, host: '*' },
  };
  // What has rules allows only what they name.
  const allowed = { ...rule, operation: AclOperationTypes.ALL, permissionType: AclPermissionTypes.ALLOW };
  const denied = { ...rule, operation: AclOperationTypes[operation], permissionType: AclPermissionTypes.DENY };
  const admin = await cluster.admin();
  await admin.createAcls({ acl: [allowed, denied] });
  return () => admin.deleteAcls({ filters: [denied, allowed] });
}

/** Of the resource `CLUSTER`. */
export const THE_CLUSTER = 'kafka-cluster';
