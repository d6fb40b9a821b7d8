// An authenticator that shares no code with the service or its tests: adds passkeys over HTTP, signs in with them, and
// tries what must be refused.
//
//	go run . URL ORIGIN RP_ID ACCESS_TOKEN
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	webauthn "github.com/descope/virtualwebauthn"
)

var url, origin, rpID, token = os.Args[1], os.Args[2], os.Args[3], os.Args[4]

func post(path, body string, signedIn bool) (int, string) {
	request, err := http.NewRequest("POST", url+path, bytes.NewBufferString(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if signedIn {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		panic(err)
	}
	return reply.StatusCode, string(text)
}

func expect(what string, want, got int, text string) string {
	if got != want {
		fmt.Printf("%s: expected %d, got %d: %s\n", what, want, got, text)
		os.Exit(1)
	}
	fmt.Printf("%s: %d\n", what, got)
	return text
}

func answer(rp webauthn.RelyingParty, device webauthn.Authenticator, key webauthn.Credential, path string) string {
	status, text := post(path, "{}", path != "/passkey/options")
	options, err := webauthn.ParseAssertionOptions(expect(path, 200, status, text))
	if err != nil {
		panic(err)
	}
	return `{"credential":` + webauthn.CreateAssertionResponse(rp, device, key, *options) + `}`
}

func main() {
	rp := webauthn.RelyingParty{ID: rpID, Name: "Chiron", Origin: origin}
	for name, kind := range map[string]webauthn.KeyType{"ES256": webauthn.KeyTypeEC2, "RS256": webauthn.KeyTypeRSA} {
		device := webauthn.NewAuthenticator()
		key := webauthn.NewCredential(kind)
		status, text := post("/passkey/add-options", "{}", true)
		options, err := webauthn.ParseAttestationOptions(expect("add-options", 200, status, text))
		if err != nil {
			panic(err)
		}
		device.Options.UserHandle = []byte(options.UserID)
		added := `{"credential":` + webauthn.CreateAttestationResponse(rp, device, key, *options) + `}`
		status, text = post("/passkey", added, true)
		expect("add "+name, 201, status, text)

		key.Counter = 1
		once := answer(rp, device, key, "/passkey/options")
		status, text = post("/passkey/validate", once, false)
		var reply struct {
			AccessToken string `json:"access_token"`
		}
		if json.Unmarshal([]byte(expect("sign in with "+name, 200, status, text)), &reply) != nil || reply.AccessToken == "" {
			panic("no token: " + text)
		}
		status, text = post("/passkey/validate", once, false)
		expect("the same answer again", 401, status, text)

		key.Counter = 2
		status, text = post("/session/step-up", answer(rp, device, key, "/session/step-up/options"), true)
		expect("step up with "+name, 200, status, text)

		key.Counter = 3
		foreign := webauthn.RelyingParty{ID: rpID, Name: "Chiron", Origin: "https://evil.example"}
		status, text = post("/passkey/validate", answer(foreign, device, key, "/passkey/options"), false)
		expect("an answer for another page", 401, status, text)
		unverified := device
		unverified.Options.UserNotVerified = true
		status, text = post("/passkey/validate", answer(rp, unverified, key, "/passkey/options"), false)
		expect("a user who was not verified", 401, status, text)
		status, text = post("/passkey/validate", answer(rp, device, webauthn.NewCredential(kind), "/passkey/options"), false)
		expect("an unknown passkey", 401, status, text)
	}
}
