/** The introduction of the API's description, and its parts. */
import { apiVersion } from '../../platform/http/headers.ts'
import type { ApiAbout } from '../../platform/http/openapi.ts'
import { type Role, roles } from '../../roles.ts'

const description = `The access service of a veterinary school: people sign in with a code sent to their e-mail address.

**A sign-in**, in this order:

1. \`POST /veterinarian/register\`: once for each veterinarian. Students are on the roster and do not register.
2. \`POST /veterinarian/send-otp\` (or \`/student/send-otp\`): the reply has a \`sessionId\`, and a code is mailed.
3. The person reads the mail. Its subject has the \`reference\` of the reply, so that they know which mail is which.
4. \`POST /veterinarian/validate-otp\` (or \`/student/validate-otp\`): address, code and \`sessionId\` give an \`access_token\` and a \`refresh_token\`.
5. \`GET /veterinarian/me\`, \`GET /student/me\` and the rest: with the access token, for 15 minutes.
6. \`POST /session/refresh\`: new tokens in exchange for the refresh token, which works once. Keep the new one.
7. \`DELETE /session\`: sign out here; \`/session/all\`: everywhere.

**Headers.** Every reply has \`Request-Id\`, which identifies it in the service’s log, and \`API-Version\`. A request may have \`API-Version: ${apiVersion}\`, the version that the client expects, and \`traceparent\` (W3C Trace Context). \`RateLimit\` and \`RateLimit-Policy\` (an IETF draft) show what is left to the session or client of a valid token, or without one to the caller’s network. 401, and 403 where a right is missing, has \`WWW-Authenticate\`, 415 \`Accept\`, 429 and 503 \`Retry-After\`. They are described here and not at each call, because generated clients would have a type for each.

Errors are \`application/problem+json\` (RFC 9457): base decisions on \`code\`; [/problems](/problems) explains each. Members, codes and replies may be added: ignore any that you do not know.`

const roleTags: Record<Role, string> = {
  veterinarian: 'Registration, sign-in and profiles of veterinarians',
  student: 'Profile and classes of students on the roster',
  staff: 'For school staff: people, mail, the roster, events and members of staff',
}

/** `cookieName`: where browsers keep the refresh token of the portal. */
export function apiAbout(cookieName: string): Pick<ApiAbout, 'description' | 'tags'> {
  return {
    description,
    tags: [
      ...roles.map((name) => ({ name, description: roleTags[name] })),
      { name: 'session', description: 'Refreshing, listing, renewing and ending sessions' },
      { name: 'passkey', description: 'Signing in with passkeys, and managing them' },
      {
        name: 'school account',
        description: 'Signing in with an account of the school’s own OpenID provider',
      },
      {
        name: 'portal',
        // No security scheme: the reference page would offer to set the cookie, which no script can.
        description: `For the portal’s own pages. The refresh token is in the HttpOnly cookie \`${cookieName}\`, which the browser stores and sends; pages of other origins get 403.`,
      },
      {
        name: 'applications',
        description:
          'For applications that sign people in here (OpenID Connect), and for services. docs/applications.md shows how.',
      },
      { name: 'tokens', description: 'For services that check our tokens themselves' },
      { name: 'operation', description: 'For operators' },
    ],
  }
}
