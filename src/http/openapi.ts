/** OpenAPI 3.1, made from the route schemas, and the reference page that reads it and can try calls. */
import { STATUS_CODES } from 'node:http'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { referenceContentPolicy } from './headers.ts'
import { html, staticFile } from './pages.ts'

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

/** Must be ready before the first route is added. */
export async function describeApi(app: FastifyInstance, version: string, cookieName: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Chiron',
        version,
        description:
          'The access service of a veterinary school. Sign in: `send-otp` mails a code, `validate-otp` takes it and gives tokens. Errors are `application/problem+json`; [/problems](/problems) explains each.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Wherever the document was read from, so that trying calls works under every name of the service.
      servers: [{ url: '/' }],
      tags: [
        { name: 'veterinarian', description: 'Registration, sign-in and profiles of veterinarians' },
        { name: 'student', description: 'Profile and classes of students on the roster' },
        { name: 'session', description: 'Refreshing, listing and ending sessions' },
        { name: 'portal', description: 'For the portal’s own pages: the refresh token in a cookie' },
        { name: 'tokens', description: 'For services that check our tokens themselves' },
        { name: 'operation', description: 'For those who run the service' },
      ],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
          portal: { type: 'apiKey', in: 'cookie', name: cookieName },
        },
      },
      security: [{ bearer: [] }],
    },
    transformObject: (document) =>
      describeReplies((document as { openapiObject: OpenApi }).openapiObject) as never,
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => (json.$id as string) ?? `def-${i}` },
  })
}

interface OpenApi {
  readonly paths?: Record<string, Record<string, { responses?: Record<string, { description: string }> }>>
}

/** Where a schema has no description of its own, the status says what it is. */
function describeReplies(document: OpenApi): OpenApi {
  for (const operation of Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))) {
    for (const [status, reply] of Object.entries(operation.responses ?? {})) {
      if (reply.description === 'Default Response') reply.description = STATUS_CODES[status] ?? ''
    }
  }
  return document
}

export function openApiRoutes(app: FastifyInstance): void {
  const page = { config: { access: 'public', limit: 'none' } as object, schema: { hide: true } }

  app.get(
    '/openapi.json',
    { config: { access: 'public' } as object, schema: { hide: true } },
    async (_request, reply) => {
      reply.header('Cache-Control', 'public, max-age=60')
      return app.swagger()
    },
  )

  app.get('/docs', page, async (_request, reply) =>
    reply
      .header('Content-Security-Policy', referenceContentPolicy)
      .type('text/html; charset=utf-8')
      .send(
        html({
          title: 'API reference',
          head: '<link rel="stylesheet" href="/docs/assets/swagger-ui.css"><script defer src="/docs/assets/swagger-ui-bundle.js"></script><script defer src="/assets/docs.js"></script>',
          body: '<h1>API reference</h1><p><a href="/openapi.json">openapi.json</a> · <a href="/problems">errors</a></p><div id="reference"><noscript>The reference needs JavaScript; the document is at /openapi.json.</noscript></div>',
          wide: true,
        }),
      ),
  )

  for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js'])
    staticFile(app, `/docs/assets/${name}`, swaggerUi, name)
}
