module chiron/authenticator

go 1.23

require github.com/descope/virtualwebauthn v1.0.3

require (
	github.com/fxamacker/cbor/v2 v2.7.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)
