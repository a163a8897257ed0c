"""The vendors' own clients, pointed at a simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import oci
from oci.generative_ai_agent import GenerativeAiAgentClient
from oci.generative_ai_agent_runtime import GenerativeAiAgentRuntimeClient
from openai import AsyncOpenAI, OpenAI

from codegen.simulator import Simulator
from examples.unsigned_oci import CONFIG, NoSigner


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
    return OciClients(GenerativeAiAgentClient(CONFIG, **options), GenerativeAiAgentRuntimeClient(CONFIG, **options))


def openai_client(simulator: Simulator, retries: int = 0) -> OpenAI:
    return OpenAI(base_url=simulator.openai_base_url, api_key="test", max_retries=retries, timeout=30)


def async_openai_client(simulator: Simulator, retries: int = 0) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=simulator.openai_base_url, api_key="test", max_retries=retries, timeout=30)
