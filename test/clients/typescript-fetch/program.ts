/** The same with a client by openapi-generator's typescript-fetch, which throws replies that are errors. */
import {
  Configuration,
  type Problem,
  ProblemFromJSON,
  ResponseError,
  SessionApi,
  VeterinarianApi,
} from './client'

export async function signInAndOut(basePath: string, email: string, readCode: () => Promise<number>) {
  const statuses: number[] = []
  const problems: Problem[] = []
  const made = async <T>(call: Promise<{ raw: Response; value(): Promise<T> }>): Promise<T | undefined> => {
    try {
      const reply = await call
      statuses.push(reply.raw.status)
      return await reply.value()
    } catch (error) {
      if (!(error instanceof ResponseError)) throw error
      statuses.push(error.response.status)
      problems.push(ProblemFromJSON(await error.response.json()))
      return undefined
    }
  }
  let accessToken = ''
  const configuration = new Configuration({ basePath, accessToken: () => accessToken })
  const [veterinarian, session] = [new VeterinarianApi(configuration), new SessionApi(configuration)]

  const registration = { firstname: 'Ada', lastname: 'Marsh', email }
  await made(veterinarian.registerVeterinarianRaw({ registration }))
  const codeRequest = { email }
  const sent = await made(veterinarian.sendVeterinarianCodeRaw({ codeRequest, acceptLanguage: 'fr' }))
  const answerWith = (otpCode: number) =>
    veterinarian.validateVeterinarianCodeRaw({
      codeAnswer: { email, sessionId: sent?.sessionId ?? '', otpCode },
    })
  await made(answerWith(99_999_999))
  const validated = await made(answerWith(await readCode()))
  const refreshRequest = { refreshToken: validated?.refreshToken ?? '' }
  const refreshed = await made(session.refreshSessionRaw({ refreshRequest }))
  accessToken = refreshed?.accessToken ?? ''
  const me = await made(veterinarian.getOwnVeterinarianRaw())
  await made(session.endSessionRaw())
  await made(veterinarian.getOwnVeterinarianRaw())
  return { statuses, attemptsLeft: problems[0]?.attemptsLeft, email: me?.email, code: problems[1]?.code }
}
