"""The vendors' own clients, pointed at a simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import oci
from oci.generative_ai_agent import GenerativeAiAgentClient
from oci.generative_ai_agent_runtime import GenerativeAiAgentRuntimeClient
from openai import AsyncOpenAI, OpenAI

from codegen.simulator import Simulator


class NoSigner(oci.signer.AbstractBaseSigner):  # type: ignore[misc]  # the SDK has no types
    """Signs nothing, so that no key is needed."""

    def __init__(self) -> None:
        pass

    def __call__(self, request: Any, enforce_content_headers: bool = True) -> Any:
        return request


# The client checks the form of the configuration, whatever the signer.
OCI_CONFIG = {
    "user": "ocid1.user.oc1..test",
    "tenancy": "ocid1.tenancy.oc1..test",
    "fingerprint": ":".join(["00"] * 16),
    "region": "eu-frankfurt-1",
    "key_content": "none",
}


@dataclass(frozen=True, slots=True)
class OciClients:
    """The management and the runtime client of one server, without retries."""

    tools: Any
    runtime: Any


def oci_clients(simulator: Simulator, retry: Any = None) -> OciClients:
    options: dict[str, Any] = {
        "service_endpoint": simulator.oci_endpoint,
        "signer": NoSigner(),
        "retry_strategy": retry or oci.retry.NoneRetryStrategy(),
        "circuit_breaker_strategy": oci.circuit_breaker.NoCircuitBreakerStrategy(),
        "timeout": (5, 30),
    }
    return OciClients(
        GenerativeAiAgentClient(OCI_CONFIG, **options), GenerativeAiAgentRuntimeClient(OCI_CONFIG, **options)
    )


def openai_client(simulator: Simulator, retries: int = 0) -> OpenAI:
    return OpenAI(base_url=simulator.openai_base_url, api_key="test", max_retries=retries, timeout=30)


def async_openai_client(simulator: Simulator, retries: int = 0) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=simulator.openai_base_url, api_key="test", max_retries=retries, timeout=30)
