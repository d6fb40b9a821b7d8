/** What a benchmark needs of the peer: the shape of its requests. */

interface PeerRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const json = { 'content-type': 'application/json' }

export const requestOtp = (email: string): PeerRequest => ({
  method: 'POST',
  path: '/api/collections/users/request-otp',
  headers: json,
  body: JSON.stringify({ email }),
})

export const authWithOtp = (otpId: string, code: string): PeerRequest => ({
  method: 'POST',
  path: '/api/collections/users/auth-with-otp',
  headers: json,
  body: JSON.stringify({ otpId, password: code }),
})
