/**
 * Passkeys against an authenticator that others wrote (`main.go`). Needs Go, and the network once for its packages, so it
 * is not part of `npm test`.
 *
 *   node test/authenticator/run.ts
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { serveChild } from '../support/child.ts'
import { ok } from '../support/passkeys.ts'
import { startMailServer } from '../support/smtp.ts'

const origin = 'http://chiron.localhost'
const email = 'ada@clinic.example'

const mail = await startMailServer()
const service = await serveChild({
  env: {
    CHIRON_PUBLIC_URL: origin,
    CHIRON_DATABASE_URL: 'sqlite:chiron.db',
    CHIRON_SECRET: 'a secret for tests that is long enough',
    CHIRON_SMTP_URL: mail.url,
  },
})
try {
  ok(await service.post('/veterinarian/register', { firstname: 'Ada', lastname: 'Marsh', email }), 202)
  const { sessionId, reference } = ok(await service.post('/veterinarian/send-otp', { email }), 202)
  const { code } = await mail.mailWith(email, reference)
  const answer = { email, otp_code: code, sessionId }
  const { access_token } = ok(await service.post('/veterinarian/validate-otp', answer))
  const { hostname } = new URL(origin)
  const { status, error } = spawnSync('go', ['run', '.', service.url, origin, hostname, access_token], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: 'inherit',
  })
  if (error) throw error
  process.exitCode = status ?? 1
} finally {
  await service.end()
  await mail.close()
}
