// Assigns partitions to the members of a group: each partition goes to the member with the fewest partitions among those that
// subscribed to its topic. The client's own assigner ignores subscriptions. So during a rolling change of the configuration,
// partitions would be assigned to members that do not read them.

import { AssignerProtocol, type Assignment, type PartitionAssigner } from 'kafkajs';

const VERSION = 0;

export const subscribedAssigner: PartitionAssigner = ({ cluster }) => ({
  name: 'longshore-subscribed',
  version: VERSION,
  async assign({ members }) {
    const subscribers = members
      .map(({ memberId, memberMetadata }) => ({
        memberId,
        topics: new Set(AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics ?? []),
      }))
      .sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
    const topics = [...new Set(subscribers.flatMap((member) => [...member.topics]))].sort();
    // The topics that the leader itself reads are known already.
    await cluster.addMultipleTargetTopics(topics);
    const partitions = topics.map((topic) => ({
      topic,
      ids: cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId),
    }));
    return [...shares(subscribers, partitions)].map(([memberId, assignment]) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({
        version: VERSION,
        assignment,
        userData: Buffer.alloc(0),
      }),
    }));
  },
  protocol: ({ topics }) => ({
    name: 'longshore-subscribed',
    metadata: AssignerProtocol.MemberMetadata.encode({ version: VERSION, topics, userData: Buffer.alloc(0) }),
  }),
});

/** Exported for its test. */
export function shares(
  members: readonly { readonly memberId: string; readonly topics: ReadonlySet<string> }[],
  partitions: readonly { readonly topic: string; readonly ids: readonly number[] }[],
): ReadonlyMap<string, Assignment> {
  const given = new Map(members.map(({ memberId }) => [memberId, { assignment: {} as Assignment, count: 0 }]));
  for (const { topic, ids } of partitions) {
    const readers = members.flatMap((member) => (member.topics.has(topic) ? (given.get(member.memberId) ?? []) : []));
    for (const id of [...ids].sort((a, b) => a - b)) {
      const reader = readers.reduce((least, next) => (next.count < least.count ? next : least), readers[0] ?? nobody());
      reader.assignment[topic] ??= [];
      reader.assignment[topic].push(id);
      reader.count++;
    }
  }
  return new Map([...given].map(([memberId, { assignment }]) => [memberId, assignment]));
}

const nobody = (): { assignment: Assignment; count: number } => ({ assignment: {}, count: 0 });
