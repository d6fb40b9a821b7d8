import { Id, Timestamp, Titled } from '../../platform/http/schemas.ts'
import { Type } from '../../platform/http/type.ts'

export const Consent = Titled('Consent', {
  clientId: Id('The application.'),
  name: Type.String({ examples: ['Moodle'] }),
  scopes: Type.Array(Type.String()),
  givenAt: Timestamp(),
})

/** Part of the export of every role. */
export const ConsentFields = {
  applications: Type.Array(Consent, {
    description: 'Applications that the person has allowed to sign them in.',
  }),
}
