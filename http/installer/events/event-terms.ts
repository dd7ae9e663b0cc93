// How events are shown in streams and pages.

import type { Static } from 'typebox';
import { DATASET_EVENT_KINDS, DATASET_EVENT_STEPS, type DatasetEvent } from '../../../engine/model/dataset-event.ts';
import type { EventPage } from '../../../engine/ports/dataset-events.ts';
import { Type, UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import { Datetime, InstallTargetIdOutput, VdiId } from '../dataset-terms.ts';

const EventId = (description: string) => Type.Integer({ format: 'int64', minimum: 0, description });

export const DatasetEventOutput = Type.Named('DatasetEvent', {
  id: EventId('Grows with each event'),
  kind: Type.Enum([...DATASET_EVENT_KINDS]),
  at: Datetime,
  datasetId: VdiId,
  owner: UserIdOutput,
  user: Type.Optional(
    Type.Unsafe<DatasetEvent['owner']>({ ...UserIdOutput, description: 'Only this user gets the event' }),
  ),
  step: Type.Optional(Type.Enum([...DATASET_EVENT_STEPS], { description: 'What failed' })),
  status: Type.Optional(Type.String({ description: 'Of the import, or of the step that failed' })),
  installTarget: Type.Optional(InstallTargetIdOutput),
  ends: Type.Optional(Type.String({ format: 'date-time', description: 'When the access ends' })),
  messages: Type.Optional(Type.Array(Type.String(), { description: 'At most five, of at most 300 characters' })),
});
export type DatasetEventOutput = Static<typeof DatasetEventOutput>;

export const DatasetEventPage = Type.Named('DatasetEventPage', {
  events: Type.Array(DatasetEventOutput),
  upTo: EventId('`after` of the next page'),
  more: Type.Boolean({ description: 'More events may be there already' }),
  missed: Type.Boolean({ description: 'Events after the requested id have been removed by age' }),
});
type DatasetEventPage = Static<typeof DatasetEventPage>;

export const eventView = ({
  id,
  kind,
  at,
  dataset,
  owner,
  addressee,
  detail: { target, messages, ...detail },
}: DatasetEvent): DatasetEventOutput => ({
  id,
  kind,
  at: new Date(at).toISOString(),
  datasetId: dataset,
  owner,
  ...(addressee === undefined ? {} : { user: addressee }),
  ...detail,
  ...(target === undefined ? {} : { installTarget: target }),
  ...(messages && messages.length > 0 ? { messages: [...messages] } : {}),
});

export const pageView = ({ events, upTo, more, missed }: EventPage): DatasetEventPage => ({
  events: events.map(eventView),
  upTo,
  more,
  missed,
});
