import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { routeConfig } from '../../platform/http/access.ts'
import { etagOf, matches } from '../../platform/http/etag.ts'
import { problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, integerFrom, timeFrom } from '../../platform/http/schemas.ts'
import type { Directory, Page, PageRequest } from './directory.ts'
import { ClassPage, EnrolmentPage, limits, PageQuery, StudentPage } from './schemas.ts'

export function directoryRoutes(app: FastifyInstance, directory: Directory): void {
  list({
    name: 'students',
    summary: 'Students on the roster',
    description:
      'Active and suspended ones, in a fixed order. With `updatedSince`, those who have left or were disabled since are among them, as `inactive`.',
    reply: StudentPage,
    read: (request) => directory.students(request),
  })
  list({
    name: 'classes',
    summary: 'Classes on the roster',
    description:
      'Past and future ones, too, in a fixed order. Classes that are gone are not listed, also with `updatedSince`: read everything again if `generation` has changed.',
    reply: ClassPage,
    read: (request) => directory.classes(request),
  })
  list({
    name: 'enrolments',
    summary: 'Which students are in which classes',
    description:
      'In a fixed order. The dates are null where those of the class apply. Enrolments that are gone are not listed, also with `updatedSince`: read everything again if `generation` has changed.',
    reply: EnrolmentPage,
    read: (request) => directory.enrolments(request),
  })

  function list({ name, summary, description, reply: Reply, read }: List): void {
    app.get(
      `/roster/${name}`,
      {
        config: routeConfig({ access: 'service', scope: 'roster.read' }),
        schema: {
          tags: ['applications'],
          operationId: `list${name[0]!.toUpperCase()}${name.slice(1)}`,
          summary,
          description: `${description} Needs the scope \`roster.read\`. Answers 304 to a matching If-None-Match.`,
          querystring: PageQuery,
          response: {
            200: Reply,
            304: Empty,
            ...problems('invalid-request', ...tokenProblems, 'forbidden'),
          },
        },
      },
      async (request, reply) => {
        const { entries, next, generation } = await read(requestOf(request))
        return sendTagged(request, reply, { [name]: entries, next, generation })
      },
    )
  }
}

interface List {
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly reply: TSchema
  read(request: PageRequest): Promise<Page<unknown>>
}

function requestOf({ query }: FastifyRequest): PageRequest {
  const { after, limit = '100', updatedSince } = query as Static<typeof PageQuery>
  return {
    after,
    limit: integerFrom('limit', limit, limits),
    updatedSince: updatedSince === undefined ? undefined : timeFrom('updatedSince', updatedSince),
  }
}

/** The tag is of the page itself: a suspension changes a page without a new generation. */
function sendTagged(
  request: FastifyRequest,
  reply: FastifyReply,
  page: { readonly next: string | null; readonly generation: number },
) {
  // The same place is sealed differently each time.
  const digest = etagOf(JSON.stringify({ ...page, next: page.next === null }))
  const etag = `W/"${page.generation}.${digest.slice(1)}`
  reply.header('ETag', etag)
  return matches(request.headers['if-none-match'], etag) ? reply.code(304).send() : page
}
