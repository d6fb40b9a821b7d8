/** The steps of passkeys over HTTP, as a front end takes them. */
import { Authenticator, type AuthenticatorOptions, type Wrongs } from './authenticator.ts'
import { type Engine, migratedStore } from './engines.ts'
import { type Calls, type Reply, type Service, startService } from './service.ts'
import { startMailServer } from './smtp.ts'
import { addStaff, signInStaff } from './staff.ts'
import { originOf } from './visitor.ts'

export const newAuthenticator = (service: Pick<Service, 'url'>, options?: AuthenticatorOptions) =>
  new Authenticator(originOf(service as Service), options)

type Headers = Record<string, string>

const post = (service: Calls, path: string, body: unknown, token: string, headers: Headers = {}) =>
  service.request(path, { method: 'POST', body, token, headers })

export const ok = (reply: Reply, status = 200) => {
  if (reply.status !== status) throw new Error(`expected ${status}, got ${reply.status}: ${reply.text}`)
  return reply.json
}

export const addOptions = async (service: Calls, token: string, headers: Headers = {}) =>
  ok(await service.request('/passkey/add-options', { method: 'POST', token, headers }))

/** Adds a passkey of a new credential; returns the reply. */
export async function addPasskey(
  service: Calls,
  token: string,
  device: Authenticator,
  { name, wrong, headers }: { name?: string; wrong?: Wrongs; headers?: Headers } = {},
): Promise<Reply> {
  const credential = device.create(await addOptions(service, token), wrong)
  return post(service, '/passkey', { credential, ...(name !== undefined && { name }) }, token, headers)
}

export const signInOptions = async (service: Calls, headers: Headers = {}) =>
  ok(await service.post('/passkey/options', {}, headers))

/** Signs in with the newest passkey of the device; returns the reply. */
export async function passkeySignIn(
  service: Calls,
  device: Authenticator,
  { wrong, headers = {} }: { wrong?: Wrongs; headers?: Headers } = {},
): Promise<Reply> {
  const credential = device.get(await signInOptions(service, headers), wrong)
  return service.post('/passkey/validate', { credential }, headers)
}

export const stepUpOptions = async (service: Calls, token: string) =>
  ok(await service.request('/session/step-up/options', { method: 'POST', token }))

export async function stepUp(
  service: Calls,
  token: string,
  device: Authenticator,
  wrong?: Wrongs,
): Promise<Reply> {
  const credential = device.get(await stepUpOptions(service, token), wrong)
  return post(service, '/session/step-up', { credential }, token)
}

export const requiring = { CHIRON_STAFF_PASSKEY: 'required' }

/** A service where an admin has a passkey, started again so that all staff must use one. */
export async function startRequiringPasskeys(engine: Engine) {
  const store = await migratedStore(engine)
  const mail = await startMailServer()
  const first = await startService(engine, { databaseUrl: store.url, mail })
  const { email } = await addStaff(first, ['admin'])
  const { access } = await signInStaff(first, email)
  const port = new URL(first.url).port
  const device = newAuthenticator(first)
  ok(await addPasskey(first, access, device), 201)
  await mail.mailTo(email, 2)
  await first.stop()
  const env = { ...requiring, CHIRON_PORT: port }
  const service = await startService(engine, { databaseUrl: store.url, mail, env, clock: first.clock })
  const stop = async () => {
    await service.stop()
    await mail.close()
    await store.remove()
  }
  return { service, email, device, stop }
}
