/** SPF, DKIM and DMARC records of the sender's domain. Without them, codes end up in spam folders. */
import { createPublicKey } from 'node:crypto'
import type { Resolver } from 'node:dns/promises'
import { errorFields } from '../../platform/lib/error-fields.ts'
import { isLoopbackHost } from '../../platform/lib/network.ts'
import { bad, type Finding, good, warning } from './doctor.ts'

const area = 'sender'

export interface DkimSettings {
  readonly domain: string
  readonly selector: string
  /** The private key, as PEM; null if it cannot be read. */
  readonly key: string | null
}

export async function checkSender(
  domain: string,
  dkim: DkimSettings | null,
  dns: Pick<Resolver, 'resolveTxt'>,
): Promise<Finding[]> {
  if (isLoopbackHost(domain) || !domain.includes('.'))
    return [warning(area, `${domain} is not a domain that can send mail`, 'set CHIRON_MAIL_FROM')]
  const answers = await Promise.all([checkSpf(domain, dns), checkDkim(dkim, dns), checkDmarc(domain, dns)])
  return answers
}

type Dns = Pick<Resolver, 'resolveTxt'>
const noAnswer = Symbol('no answer')

/** The TXT records of a name, or a failure if DNS did not answer. */
async function textsOf(dns: Dns, name: string): Promise<string[] | typeof noAnswer> {
  try {
    return (await dns.resolveTxt(name)).map((parts) => parts.join(''))
  } catch (error) {
    const { code } = errorFields(error)
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : noAnswer
  }
}

function dnsSilent(what: string, name: string): Finding {
  return warning(
    area,
    `${what} is unknown: DNS does not answer for ${name}`,
    'make sure that this machine can query DNS',
  )
}

async function checkSpf(domain: string, dns: Dns): Promise<Finding> {
  const texts = await textsOf(dns, domain)
  if (texts === noAnswer) return dnsSilent('SPF', domain)
  const records = texts.filter((text) => /^v=spf1(\s|$)/i.test(text))
  if (records.length === 0)
    return bad(
      area,
      `${domain} has no SPF record: receivers cannot tell that the mail server may send for it`,
      'publish a TXT record such as "v=spf1 include:<mail provider> -all"',
    )
  if (records.length > 1)
    return bad(
      area,
      `${domain} has ${records.length} SPF records, which makes all of them invalid`,
      'merge them into one',
    )
  if (/[+\s]all\b/.test(records[0]!.replace(/[-~?]all/g, '')))
    return bad(area, `the SPF record of ${domain} lets anyone send`, 'end it with -all or ~all')
  return good(area, `${domain} has an SPF record`)
}

async function checkDkim(dkim: DkimSettings | null, dns: Dns): Promise<Finding> {
  if (dkim === null)
    return warning(
      area,
      'DKIM is not checked: Chiron does not sign',
      'make sure that the mail server signs, or set CHIRON_DKIM_SELECTOR and the related settings',
    )
  const name = `${dkim.selector}._domainkey.${dkim.domain}`
  const texts = await textsOf(dns, name)
  if (texts === noAnswer) return dnsSilent('DKIM', name)
  const published = texts
    .map((text) => /(?:^|;)\s*p=([^;]*)/.exec(text)?.[1]?.replace(/\s/g, ''))
    .find(Boolean)
  if (published === undefined)
    return bad(
      area,
      `there is no DKIM key at ${name}`,
      'publish the public key there, as "v=DKIM1; k=rsa; p=…"',
    )
  if (dkim.key !== null && publicPart(dkim.key) !== published)
    return bad(
      area,
      `the DKIM key at ${name} does not match the key file`,
      'publish the public key of the key file',
    )
  return good(area, `the DKIM key at ${name} is published`)
}

/** The form for DKIM: the whole structure of an RSA key, the bare 32 bytes of an Ed25519 key (RFC 8463). */
function publicPart(pem: string): string {
  const key = createPublicKey(pem)
  if (key.asymmetricKeyType === 'ed25519')
    return Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url').toString('base64')
  return key.export({ type: 'spki', format: 'der' }).toString('base64')
}

/** A domain without a policy has that of the domain above it. */
async function checkDmarc(domain: string, dns: Dns): Promise<Finding> {
  const labels = domain.split('.')
  for (let i = 0; i < labels.length - 1; i++) {
    const name = `_dmarc.${labels.slice(i).join('.')}`
    const texts = await textsOf(dns, name)
    if (texts === noAnswer) return dnsSilent('DMARC', name)
    const policy = texts.map((text) => /^v=DMARC1\s*;.*?\bp=(\w+)/i.exec(text)?.[1]).find(Boolean)
    if (policy === undefined) continue
    if (policy.toLowerCase() !== 'none') return good(area, `DMARC of ${domain} is "${policy}"`)
    return warning(
      area,
      `DMARC of ${domain} is "none": strangers can send in its name`,
      'once SPF and DKIM pass, set p=quarantine or p=reject',
    )
  }
  return warning(
    area,
    `${domain} has no DMARC record, which large providers require`,
    `publish a TXT record at _dmarc.${domain}, such as "v=DMARC1; p=quarantine"`,
  )
}
