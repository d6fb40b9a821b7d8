import type { FastifyReply } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { operation } from '../../identity/session/operation.ts'
import { etagOf, matches } from '../../platform/http/etag.ts'
import { integerFrom, timeFrom } from '../../platform/http/schemas.ts'
import type { Directory, Page, PageRequest } from './directory.ts'
import { ClassPage, EnrolmentPage, limits, PageQuery, StudentPage } from './schemas.ts'

export const directoryRoutes = (directory: Directory) => [
  list({
    name: 'students',
    summary: 'Students on the roster',
    description:
      'Active and suspended ones, in a fixed order. With `updatedSince`, those who have left or were disabled since are among them, as `inactive`.',
    reply: StudentPage,
    read: (request) => directory.students(request),
  }),
  list({
    name: 'classes',
    summary: 'Classes on the roster',
    description:
      'Past and future ones, too, in a fixed order. Classes that are gone are not listed, also with `updatedSince`: read everything again if `generation` has changed.',
    reply: ClassPage,
    read: (request) => directory.classes(request),
  }),
  list({
    name: 'enrolments',
    summary: 'Which students are in which classes',
    description:
      'In a fixed order. The dates are null where those of the class apply. Enrolments that are gone are not listed, also with `updatedSince`: read everything again if `generation` has changed.',
    reply: EnrolmentPage,
    read: (request) => directory.enrolments(request),
  }),
]

interface List {
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly reply: TSchema
  read(request: PageRequest): Promise<Page<unknown>>
}

const list = ({ name, description, read, ...about }: List) =>
  operation(`GET /roster/${name}`, {
    ...about,
    access: 'service',
    scope: 'roster.read',
    tag: 'applications',
    id: `list${name[0]!.toUpperCase()}${name.slice(1)}`,
    description: `${description} Needs the scope \`roster.read\`. Answers 304 to a matching If-None-Match.`,
    query: PageQuery,
    orEmpty: 304,
    async answer({ reply, query }) {
      const { entries, next, generation } = await read(requestOf(query))
      return sendTagged(reply, { [name]: entries, next, generation })
    },
  })

function requestOf({ after, limit = '100', updatedSince }: Static<typeof PageQuery>): PageRequest {
  return {
    after,
    limit: integerFrom('limit', limit, limits),
    updatedSince: updatedSince === undefined ? undefined : timeFrom('updatedSince', updatedSince),
  }
}

/** The tag is of the page itself: a suspension changes a page without a new generation. */
function sendTagged(
  reply: FastifyReply,
  page: { readonly next: string | null; readonly generation: number },
) {
  // The same place is sealed differently each time.
  const digest = etagOf(JSON.stringify({ ...page, next: page.next === null }))
  const etag = `W/"${page.generation}.${digest.slice(1)}`
  reply.header('ETag', etag)
  return matches(reply.request.headers['if-none-match'], etag) ? reply.code(304).send() : page
}
