import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type ByOf, type CallerOf, routeConfig, staffChange } from '../../platform/http/access.ts'
import { problems, provenChangeProblems, staffReadProblems } from '../../platform/http/problem-schemas.ts'
import { Empty, Id } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'
import { Fields } from '../people/fields.ts'
import type { LiveSession } from '../session/session.ts'
import { NewStaffMember, StaffChange, StaffList, StaffMember, StaffProfile } from './schemas.ts'
import { profileOf, type Staff } from './staff.ts'

export interface StaffRoutesDeps {
  readonly staff: Staff
  readonly callerOf: CallerOf<LiveSession>
  readonly byStaffOf: ByOf
}

export function staffRoutes(root: FastifyInstance, { staff, callerOf, byStaffOf }: StaffRoutesDeps): void {
  const app = root.withTypeProvider<TypeBoxTypeProvider>()
  const tags = ['staff']
  const admin = routeConfig({ access: 'staff', may: 'admin' })
  const changing = staffChange('admin')
  const refusals = [...provenChangeProblems, 'conflict'] as const
  const params = Type.Object({ userId: Id('The member’s id.') })

  app.get(
    '/staff/me',
    {
      config: routeConfig({ access: 'staff', may: 'any' }),
      schema: {
        tags,
        operationId: 'getOwnStaff',
        summary: 'My profile and rights',
        response: { 200: StaffProfile, ...problems(...staffReadProblems) },
      },
    },
    (request) => profileOf(callerOf(request, 'staff')),
  )

  app.get(
    '/staff/members',
    {
      config: admin,
      schema: {
        tags,
        operationId: 'listStaff',
        summary: 'All members of staff',
        response: {
          200: StaffList,
          ...problems(...staffReadProblems),
        },
      },
    },
    async () => ({ members: await staff.list() }),
  )

  app.post(
    '/staff/members',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'addStaff',
        summary: 'Add a member of staff',
        description:
          'They can sign in immediately. Like every change here, this needs a sign-in at most 30 minutes old.',
        body: NewStaffMember,
        response: { 201: StaffMember, ...problems(...refusals) },
      },
    },
    async (request, reply) => {
      const fields = new Fields()
      const address = fields.email(request.body.email)
      const names = {
        firstname: fields.name('firstname', request.body.firstname),
        lastname: fields.name('lastname', request.body.lastname),
      }
      fields.check()
      return reply
        .code(201)
        .send(await staff.add(address, { ...names, may: request.body.may }, byStaffOf(request)))
    },
  )

  app.patch(
    '/staff/members/:userId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'changeStaff',
        summary: 'Change a member’s name or rights',
        description: 'The last admin cannot lose that right.',
        params,
        body: StaffChange,
        response: { 200: StaffMember, ...problems(...refusals, 'not-found') },
      },
    },
    async (request) => {
      const { firstname: first, lastname: last, may } = request.body
      const fields = new Fields()
      const change = {
        ...(first !== undefined && { firstname: fields.name('firstname', first) }),
        ...(last !== undefined && { lastname: fields.name('lastname', last) }),
        ...(may !== undefined && { may }),
      }
      fields.check()
      return staff.change(request.params.userId, change, byStaffOf(request))
    },
  )

  app.delete(
    '/staff/members/:userId',
    {
      config: changing,
      schema: {
        tags,
        operationId: 'removeStaff',
        summary: 'Remove a member of staff',
        description: 'Ends their sessions at once. The last admin cannot be removed.',
        params,
        response: { 204: Empty, ...problems(...refusals, 'not-found') },
      },
    },
    async (request, reply) => {
      await staff.remove(request.params.userId, byStaffOf(request))
      return reply.code(204).send()
    },
  )
}
