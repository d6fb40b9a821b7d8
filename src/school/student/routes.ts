import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { LiveSession } from '../../identity/session/session.ts'
import { type CallerOf, routeConfig } from '../../platform/http/access.ts'
import { problems, tokenProblems } from '../../platform/http/problem-schemas.ts'
import { Empty } from '../../platform/http/schemas.ts'
import { ClassList, StudentExport, StudentProfile, WhenQuery } from './schemas.ts'
import type { Students } from './student.ts'

export interface StudentRoutesDeps {
  readonly students: Students
  readonly callerOf: CallerOf<LiveSession>
}

export function studentRoutes(root: FastifyInstance, { students, callerOf }: StudentRoutesDeps): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['student']
  const config = routeConfig({ access: 'student' })

  app.get(
    '/student/me',
    {
      config,
      schema: {
        tags,
        operationId: 'getOwnStudent',
        summary: 'My profile',
        response: { 200: StudentProfile, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    (request) => students.profileOf(callerOf(request)),
  )

  app.get(
    '/student/me/classes',
    {
      config: routeConfig({ access: 'student', scope: 'classes' }),
      schema: {
        tags,
        operationId: 'listOwnClasses',
        summary: 'My classes',
        description:
          'Current classes by default. Dates are whole days in the school’s time zone, first and last included. Sorted by start date, then title.',
        querystring: WhenQuery,
        response: {
          200: ClassList,
          204: Empty,
          ...problems('invalid-request', ...tokenProblems, 'forbidden'),
        },
      },
    },
    async (request, reply) => {
      const classes = await students.classes(callerOf(request), request.query.when ?? 'current')
      if (classes.length === 0) return reply.code(204).send()
      // The schema's serialiser costs a third of this endpoint. The import alone decides what a class holds.
      return reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send({ classes })
    },
  )

  app.get(
    '/student/me/export',
    {
      config,
      schema: {
        tags,
        operationId: 'exportOwnStudent',
        summary: 'Everything held about me',
        response: { 200: StudentExport, ...problems(...tokenProblems, 'forbidden') },
      },
    },
    async (request, reply) => {
      reply.header('Content-Disposition', 'attachment; filename="chiron-export.json"')
      return students.export(callerOf(request))
    },
  )
}
