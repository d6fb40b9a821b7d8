/** The mail server: whether it answers, encrypts, and accepts the login. */
import { errorFields } from '../../platform/lib/error-fields.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { reasonOf } from '../../platform/lib/reason.ts'
import { checkCertificate } from './certificate.ts'
import { bad, type Finding, good, warning } from './doctor.ts'
import { type Dialogue, type MailServerAt, talkTo } from './smtp-dialogue.ts'
import { explainReply } from './smtp-replies.ts'

const area = 'mail server'
const patienceMs = 10_000

export interface MailFacts {
  readonly smtpUrl: string | null
  readonly sender: string
  readonly now: number
  /** Logs in as the service does. */
  checkLogin(): Promise<void>
}

export async function checkMailServer({ smtpUrl, sender, now, checkLogin }: MailFacts): Promise<Finding[]> {
  if (smtpUrl === null)
    return [warning(area, 'none is set: mail goes to the built-in mailbox', 'set CHIRON_SMTP_URL')]
  const { protocol, hostname, port, username } = new URL(smtpUrl)
  const host = hostname.replace(/^\[|\]$/g, '')
  const secure = protocol === 'smtps:'
  const at = { host, port: port === '' ? (secure ? 465 : 587) : Number(port), secure }
  let dialogue: Dialogue
  try {
    dialogue = await talkTo(at, username === '' ? sender : null, patienceMs)
  } catch (error) {
    return [unreachable(at, error)]
  }
  const { greeting } = dialogue
  if (!greeting.startsWith('220')) return [refusal(`${at.host} greets with`, greeting)]
  const tls = checkTls(at, dialogue, now)
  const findings = [good(area, `${at.host}:${at.port} answers`), ...tls]
  if (tls.some(({ state }) => state === 'bad')) return findings
  if (username === '') return [...findings, ...checkSender(dialogue)]
  return [...findings, await checkAccount(checkLogin, dialogue)]
}

function unreachable({ host, port, secure }: MailServerAt, error: unknown): Finding {
  const { code } = errorFields(error)
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return bad(
      area,
      `${host}:${port} does not start with TLS`,
      'use smtp:// for this port, or port 465 for smtps://',
    )
  const hint = secure ? '' : '; a port that starts with TLS, such as 465, needs smtps://'
  return bad(
    area,
    `${host}:${port} is unreachable: ${reasonOf(error)}`,
    `check the host, the port and any firewall in between${hint}`,
  )
}

function checkTls({ host, secure }: MailServerAt, { certificate }: Dialogue, now: number): Finding[] {
  if (certificate === null) {
    if (isLoopbackHost(host)) return [good(area, 'it is on this machine, without TLS')]
    return [
      bad(
        area,
        'it does not offer STARTTLS, so no mail is sent',
        'use a port that encrypts, such as 587 or smtps:// on 465',
      ),
    ]
  }
  if (isLoopbackHost(host)) return [good(area, 'the connection is encrypted')]
  const how = secure ? 'TLS' : 'STARTTLS'
  const found = checkCertificate(area, certificate, now)
  return [found.state === 'good' ? good(area, `${how} works; ${found.text}`) : found]
}

function checkSender({ senderReply }: Dialogue): Finding[] {
  if (senderReply === null || senderReply.startsWith('2'))
    return [good(area, 'it accepts mail without a login')]
  return [refusal('it does not accept mail without a login:', senderReply)]
}

async function checkAccount(login: () => Promise<void>, { offers }: Dialogue): Promise<Finding> {
  if (!offers.includes('AUTH'))
    return warning(
      area,
      'it does not offer a login, although CHIRON_SMTP_URL has one',
      'remove the user and password, or use another port',
    )
  try {
    await login()
    return good(area, 'the login is accepted')
  } catch (error) {
    const { response, message = String(error) } = errorFields(error)
    return refusal('the login is refused:', response ?? message)
  }
}

/** The reply itself is shown too, shortened: it is what the provider's help pages are about. */
function refusal(what: string, reply: string): Finding {
  const { means, remedy } = explainReply(reply)
  return bad(area, `${what} "${reply.replace(/\s+/g, ' ').slice(0, 200)}": ${means}`, remedy)
}
