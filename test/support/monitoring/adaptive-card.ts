/** What the parser of Adaptive Cards says of a card that clients of version 1.5 get: unknown types and values, and what is missing. */
import { createRequire } from 'node:module'
import type * as Library from 'adaptivecards'

// Node cannot import its modules, whose imports have no file names.
const { AdaptiveCard, SerializationContext, Versions }: typeof Library = createRequire(import.meta.url)(
  'adaptivecards/dist/adaptivecards.js',
)

export const cardProblems = (content: object): readonly string[] => {
  const context = new SerializationContext(Versions.v1_5)
  const card = new AdaptiveCard()
  card.parse(content, context)
  return [
    ...Array.from({ length: context.eventCount }, (_, index) => context.getEventAt(index).message),
    ...card.validateProperties().validationEvents.map(({ message }) => message),
  ]
}
